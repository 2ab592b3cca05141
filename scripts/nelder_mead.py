"""The Nelder-Mead method for functions of a few numbers that have no derivatives."""


def minimum(cost, clipped, start, step=1.3, rounds=1000, near=0):
    """Minimizes a cost. `clipped` moves numbers within their limits. The first corners are `start` and points where
    one number is `step` times as large. Ends after `rounds`, or if the costs of all corners differ by less than `near`.
    Returns the cost and where it is."""
    n = len(start)
    corners = [clipped(start)] + [clipped([x * (step if i == j else 1) for j, x in enumerate(start)]) for i in range(n)]
    corners = [(cost(point), point) for point in corners]
    for _ in range(rounds):
        corners.sort(key=lambda corner: corner[0])
        if corners[-1][0] - corners[0][0] < near:
            break
        centre = [sum(point[j] for _, point in corners[:n]) / n for j in range(n)]

        def along(far):
            point = clipped([c + far * (c - w) for c, w in zip(centre, corners[n][1])])
            return (cost(point), point)

        best = along(1)
        if best[0] < corners[0][0]:
            best = min(best, along(2), key=lambda corner: corner[0])
        elif best[0] >= corners[n - 1][0]:
            best = min(best, along(-0.5), key=lambda corner: corner[0])
        if best[0] < corners[n][0]:
            corners[n] = best
        else:
            nearest = corners[0][1]
            halfway = [clipped([(x + y) / 2 for x, y in zip(point, nearest)]) for _, point in corners[1:]]
            corners = [corners[0]] + [(cost(point), point) for point in halfway]
    return min(corners, key=lambda corner: corner[0])
